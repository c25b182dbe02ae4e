"""Aircraft from CAD files: meshes, URDF and SDF; mass properties; rotors and surfaces. Pure but for reading files."""
