"""The router: forwards frames between endpoints and measures the state of every link."""
