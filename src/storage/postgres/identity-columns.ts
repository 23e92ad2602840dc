import type pg from 'pg'

/** Tables of the current schema whose rows the database numbers, with their columns and sequences. */
export async function findIdentityColumns(
  client: pg.PoolClient,
): Promise<readonly { readonly table: string; readonly column: string; readonly sequence: string }[]> {
  const { rows } = await client.query<{ table: string; column: string; sequence: string }>(
    `SELECT table_name AS table, column_name AS column,
       pg_get_serial_sequence(quote_ident(table_name), column_name) AS sequence
     FROM information_schema.columns WHERE table_schema = current_schema() AND is_identity = 'YES'`,
  )
  return rows
}
