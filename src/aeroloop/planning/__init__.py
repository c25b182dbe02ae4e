"""Path planning: wavelet cells, search, path templates, mission. Pure; integers where the board must agree."""
