import { writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type KeyFacts, listConfigKeys } from '../../src/index.ts'
import { sectionExamples } from './section-examples.ts'

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

${escape(part.description)}${part.required ? ' Required.' : ''}

\`\`\`yaml
${sectionExamples[part.path]}
\`\`\`
${defaultsOf(below.length > 0 ? below : [part])}
| key | type | default | meaning |
|---|---|---|---|
${rows.join('\n')}
`
  })
  return `# gateway.yaml

This page lists every key of the file. \`NAME\` is a name that you choose, \`[]\` an entry of a list.

- \`tollgate docs KEY\` explains one key, with an example.
- \`tollgate config --show-origin\` prints the effective configuration and the source of each value.
- \`tollgate check\` validates a file.

Values can contain \`\${NAME}\`, \`\${NAME:-default}\`, \`\${NAME:?message}\` and \`\${file:/run/secrets/name}\`. Write a dollar sign as \`$$\`.
The examples of all sections together are one valid configuration.

\`npm run docs\` generates this page from the schema. Do not edit it.

${sections.join('\n')}`
}

function toRow({ path, type, required, default: otherwise, allowed, description }: KeyFacts): string {
  const needed = required ? ' (required)' : ''
  const values = allowed === undefined || description.includes(allowed) ? '' : ` Allowed: ${allowed}.`
  const standard = otherwise === undefined ? '' : `\`${otherwise}\``
  return `| \`${path}\` | ${type}${needed} | ${escape(standard)} | ${escape(description + values)} |`
}

/** A sentence with the keys whose default is one value; the table also has defaults that are lists and mappings. */
function defaultsOf(keys: readonly KeyFacts[]): string {
  const set = keys.filter(({ path, default: own }) => own !== undefined && !/^[{[]/.test(own) && depthOf(path) <= 3)
  if (set.length === 0) return ''
  return `\nDefaults: ${set.map(({ path, default: own }) => `\`${shortOf(path)}: ${own}\``).join(', ')}.\n`
}

/** The path relative to its section, and to the name of an entry. */
function shortOf(path: string): string {
  return path.replace(/^\w+(?:\.NAME\.|\[\]\.|\.)/, '')
}

function depthOf(path: string): number {
  return path.split('.').length
}

function escape(text: string): string {
  return text.replaceAll('|', String.raw`\|`).replaceAll('<', '&lt;').replaceAll('*', String.raw`\*`)
}

if (import.meta.main) {
  await writeFile(configurationPagePath, await writeConfigurationPage())
  process.stderr.write(`written: ${configurationPagePath}\n`)
}
