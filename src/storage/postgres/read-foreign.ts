import { Client } from 'pg'

/** A table of another program's database: every cell as text. */
export type ForeignTable = {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | null)[])[]
}

type ForeignDatabase = {
  readonly tables: ReadonlyMap<string, ForeignTable>
  readonly counted: ReadonlyMap<string, number>
}

const connectMs = 10_000

/**
 * Reads tables of another program's database in one read-only transaction; counts the rows of all other tables.
 * @throws Error of the package if the database cannot be reached or read
 */
export async function readForeign(url: string, wanted: ReadonlySet<string>): Promise<ForeignDatabase> {
  const client = new Client({
    connectionString: url,
    connectionTimeoutMillis: connectMs,
    application_name: 'tollgate import',
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY')
    // Prisma adds this parameter to an address.
    const schema = URL.canParse(url) ? new URL(url).searchParams.get('schema') : null
    if (schema !== null) await client.query(`SELECT set_config('search_path', $1, true)`, [quote(schema)])
    const { rows: found } = await client.query<{ name: string; column: string }>(
      `SELECT t.table_name AS name, c.column_name AS column FROM information_schema.tables t
       JOIN information_schema.columns c USING (table_schema, table_name)
       WHERE t.table_type = 'BASE TABLE' AND t.table_schema = current_schema() ORDER BY t.table_name, c.ordinal_position`,
    )
    const tables = new Map<string, ForeignTable>()
    const counted = new Map<string, number>()
    for (const [name, of] of Map.groupBy(found, row => row.name)) {
      const columns = of.map(row => row.column)
      if (wanted.has(name)) tables.set(name, await readTable(client, name, columns))
      else {
        const { rows } = await client.query<{ value: string }>(`SELECT count(*) AS value FROM ${quote(name)}`)
        counted.set(name, Number(rows[0]?.value ?? 0))
      }
    }
    return { tables, counted }
  } finally {
    await client.end()
  }
}

async function readTable(client: Client, name: string, columns: readonly string[]): Promise<ForeignTable> {
  const text = `SELECT ${columns.map(column => `${quote(column)}::text`).join(', ')} FROM ${quote(name)}`
  const { rows } = await client.query<(string | null)[]>({ text, rowMode: 'array' })
  return { columns, rows }
}

function quote(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
