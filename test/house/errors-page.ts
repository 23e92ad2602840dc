import { glob, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import type { ErrorRow, ErrorTable } from '../../src/domain/index.ts'

// `npm run docs` writes docs/errors.md from the tables in the code; a test fails while the two differ.

const root = resolve(import.meta.dirname, '../..')
export const errorsPagePath = join(root, 'docs/errors.md')

/** Every table of errors that a client can receive, by the file that defines it. */
export async function readErrorTables(): Promise<ReadonlyMap<string, ErrorTable>> {
  const tables = new Map<string, ErrorTable>()
  const files: string[] = []
  for await (const file of glob('{src,plugins}/**/errors.ts', { cwd: root })) files.push(file)
  for (const file of files.toSorted()) {
    const { errors } = (await import(join(root, file))) as { errors?: ErrorTable }
    if (errors) tables.set(file, errors)
  }
  return tables
}

/** The page of all errors, by code. */
export function writeErrorsPage(tables: ReadonlyMap<string, ErrorTable>): string {
  const rows = new Map<string, { row: ErrorRow; from: string[] }>()
  for (const [file, table] of tables) {
    for (const [code, row] of Object.entries(table)) {
      const from = file.replace(/\/?errors\.ts$/, '')
      const known = rows.get(code)
      if (known) known.from.push(from)
      else rows.set(code, { row, from: [from] })
    }
  }
  const lines = [...rows]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(
      ([code, { row, from }]) =>
        `| \`${code}\` | ${row.status} | ${describe(row)} | ${cell(row.operator ?? '')} | ${from.join(', ')} |`,
    )
  return `# Errors

This page lists the errors that the gateway itself returns, by the \`code\` in the body. Codes are never renamed.

- \`{name}\` is replaced by the actual value.
- The body has the error format of the API that the client calls. Errors of upstreams are forwarded with their own codes.
- "Retry" is the value of the header \`x-should-retry\`, which tells an SDK whether to retry. Without it, the header is not sent.
- If the column "operator action" is empty, the client has to change the request.

\`npm run docs\` generates this page from the tables in the code. Do not edit it.

| code | status | message | operator action | source |
|---|---|---|---|---|
${lines.join('\n')}
`
}

function describe(row: ErrorRow): string {
  const field = row.param === undefined ? '' : ` Field: \`${row.param}\`.`
  const again = row.retry === undefined ? '' : ` Retry: ${row.retry ? 'yes' : 'no'}.`
  return `${cell(row.text)}${field}${again}`
}

function cell(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;')
}

if (import.meta.main) {
  await writeFile(errorsPagePath, writeErrorsPage(await readErrorTables()))
  process.stderr.write(`written: ${errorsPagePath}\n`)
}
