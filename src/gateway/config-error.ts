import { formatFindings } from '../config/format-findings.ts'
import type { Finding } from '../config/index.ts'
import { brand } from '../util/brand.ts'

/** The configuration was refused; nothing was started. */
export class ConfigError extends Error {
  readonly findings: readonly Finding[]

  static {
    brand(this, 'ConfigError')
  }

  constructor(findings: readonly Finding[]) {
    super(formatFindings(findings, { color: false }))
    this.name = 'ConfigError'
    this.findings = findings
  }
}
