import { isAbsolute } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { LintFinding } from './finding.ts'

/** The description of a kind of finding. */
export type SarifRule = { readonly id: string; readonly description: string; readonly remedy: string }

/** Findings as a SARIF 2.1.0 log (OASIS) for code scanning; columns count UTF-16 units. */
export function formatSarif(
  findings: readonly LintFinding[],
  { version, rules = [] }: { readonly version: string; readonly rules?: readonly SarifRule[] },
): string {
  const codes = [...new Set(findings.map(finding => finding.code))]
  const driver = {
    name: 'tollgate',
    semanticVersion: version,
    rules: codes.map(id => {
      const rule = rules.find(rule => rule.id === id)
      if (!rule) return { id }
      return { id, shortDescription: { text: rule.description }, help: { text: rule.remedy } }
    }),
  }
  const results = findings.map(({ severity, code, file, line, col, path, message, remedy }) => ({
    ruleId: code,
    ruleIndex: codes.indexOf(code),
    level: severity,
    message: {
      text: `${path === '' ? '' : `${path}: `}${message}${remedy === undefined ? '' : `. Remedy: ${remedy}`}`,
    },
    locations: [
      {
        physicalLocation: { artifactLocation: { uri: uriOf(file) }, region: { startLine: line, startColumn: col } },
        ...(path !== '' && { logicalLocations: [{ fullyQualifiedName: path }] }),
      },
    ],
  }))
  const run = { tool: { driver }, columnKind: 'utf16CodeUnits', results }
  const schema = 'https://json.schemastore.org/sarif-2.1.0.json'
  return JSON.stringify({ $schema: schema, version: '2.1.0', runs: [run] }, null, 2)
}

/** A relative path stays relative: it starts at the root of a checkout. */
function uriOf(file: string): string {
  if (isAbsolute(file)) return pathToFileURL(file).href
  return file.replaceAll('\\', '/').split('/').map(encodeURIComponent).join('/')
}
