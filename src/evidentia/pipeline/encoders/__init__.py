"""Models behind one interface: in the package, on this machine, or behind an address."""
