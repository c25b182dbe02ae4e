"""What a companion computer does with images."""
