/**
 * Bytes that have to be free where a database of SQLite is: room for the lines and ends of every charge that may be in flight
 * when the disk fills up. With fewer, nothing billable begins.
 */
export const diskBytesMin = 256 * 1_048_576
