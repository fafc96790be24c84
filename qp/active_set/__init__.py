"""The active-set method of dense boxed programs, from face to face of the box."""
