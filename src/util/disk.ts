/**
 * Required free bytes for a SQLite database: room to finish every charge that may be in flight when the disk fills up.
 * With less free space, no billable request starts.
 */
export const diskBytesMin = 256 * 1_048_576
