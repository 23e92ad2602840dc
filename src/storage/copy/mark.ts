/**
 * The version that a database says it has while it is being filled by a copy: higher than any that there will be, so that
 * versions which do not know of copies refuse it too.
 */
export const copyMark = 2_000_000_000
