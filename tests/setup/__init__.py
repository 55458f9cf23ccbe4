"""Tests of how kgcheck is set up, which need a package registry."""
