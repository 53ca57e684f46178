//! Pure functions from IR and graph facts to facts: affect map, divergence.
