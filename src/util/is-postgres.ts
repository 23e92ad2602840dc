/** Whether a storage, or the source of an import, is the address of a PostgreSQL database. */
export function isPostgres(address: string): boolean {
  return /^postgres(?:ql)?:\/\//.test(address)
}
