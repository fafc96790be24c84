"""Pictures and counts that teach: of programs, of the central path, of the parts of the method."""
