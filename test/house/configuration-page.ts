import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type KeyFacts, listConfigKeys } from '../../src/index.ts'

// `npm run docs` writes docs/configuration.md from the schema; a test fails while the two differ.

export const configurationPagePath = join(resolve(import.meta.dirname, '../..'), 'docs/configuration.md')

/** Every key of `gateway.yaml`, a table for each part of the file. */
export async function writeConfigurationPage(): Promise<string> {
  const keys = await listConfigKeys()
  const parts = keys.filter(({ path }) => !path.includes('.'))
  const sections = parts.map(part => {
    const below = keys.filter(({ path }) => path !== part.path && path.startsWith(part.path))
    const rows = (below.length > 0 ? below : [part]).map(toRow)
    return `## ${part.path}

${escape(part.description)}${part.required ? ' Needed.' : ''}

| key | type | default | meaning |
|---|---|---|---|
${rows.join('\n')}
`
  })
  return `# gateway.yaml

Every key that the file may have. \`NAME\` is a name of your choice, \`[]\` an entry of a list. \`tollgate docs KEY\` tells the
same with an example, \`tollgate config --show-origin\` what is in effect and why, \`tollgate check\` what is wrong with a file.

Values may hold \`\${NAME}\`, \`\${NAME:-default}\`, \`\${NAME:?message}\` and \`\${file:/run/secrets/name}\`; \`$$\` is a dollar sign.

This page is written by \`npm run docs\` from the schema.

${sections.join('\n')}`
}

function toRow({ path, type, required, default: otherwise, allowed, description }: KeyFacts): string {
  const needed = required ? ' (needed)' : ''
  const values = allowed === undefined || description.includes(allowed) ? '' : ` Allowed: ${allowed}.`
  const standard = otherwise === undefined ? '' : `\`${otherwise}\``
  return `| \`${path}\` | ${type}${needed} | ${escape(standard)} | ${escape(description + values)} |`
}

function escape(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;').replaceAll('*', String.raw`\*`)
}

if (import.meta.main) {
  await writeFile(configurationPagePath, await writeConfigurationPage())
  process.stderr.write(`written: ${configurationPagePath}\n`)
}
