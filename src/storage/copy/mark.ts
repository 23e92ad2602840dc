/**
 * The schema version of a database that a copy is filling: higher than any real one, so that versions that do not know
 * copies refuse it too.
 */
export const copyMark = 2_000_000_000
