"""Programs built around known answers, solved by the thousand, and judged from x, y, z alone."""
