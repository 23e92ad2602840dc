import type { CompiledConfig } from '../../domain/index.ts'
import { PartFiles, type PartTexts } from '../compose/part-files.ts'
import { drawCaret } from '../draw-caret.ts'
import type { Environment } from '../environment.ts'
import type { LintFinding } from '../finding.ts'
import { readFilled } from '../read-filled.ts'
import { readTokens } from '../read-tokens.ts'
import { Report } from '../report.ts'
import type { Secrets } from '../secrets.ts'
import { Source } from '../source.ts'
import { findNear } from '../suggest.ts'
import { findNode, formatPath, type Path, type Span, type Tree } from '../tree.ts'
import { exposureRules } from './exposure.ts'
import { type Ignore, readIgnores } from './ignores.ts'
import { proxyRules } from './proxies.ts'
import { retryRules } from './retries.ts'
import type { Rule } from './rule.ts'
import { spendingRules } from './spending.ts'
import { upstreamRules } from './upstreams.ts'

export type LintReport = {
  /** In the order of the files. */
  readonly findings: readonly LintFinding[]
  /** The number of findings that a comment silenced. */
  readonly ignored: number
}

/** A valid configuration: its text, and its plan. */
export type LintRequest = {
  readonly file: string
  readonly text: string
  readonly env: Environment
  readonly plan: CompiledConfig
  /** The texts of the files that it names; read again if absent. */
  readonly parts?: PartTexts
}

/** All rules, grouped by subject. */
export const lintRules: readonly Rule[] = [
  ...upstreamRules,
  ...proxyRules,
  ...retryRules,
  ...exposureRules,
  ...spendingRules,
]

const formerNames = new Map(lintRules.flatMap(({ id, formerly = [] }) => formerly.map(old => [old, id])))

/** The current name of a rule; other names are returned unchanged. */
export function nowCalled(rule: string): string {
  return formerNames.get(rule) ?? rule
}

/** Rules about the comments that silence rules. A comment cannot silence these. */
const ignoreRules = {
  unknown: 'ignore-unknown-rule',
  unused: 'ignore-unused',
  bare: 'ignore-without-reason',
  renamed: 'ignore-old-name',
} as const

/** Finds dangerous settings in a valid configuration. `skipped` are names of rules to skip. */
export async function lintPlan(request: LintRequest, skipped: readonly string[] = []): Promise<LintReport> {
  const { file, text, env, plan } = request
  const source = new Source(file, text.replace(/^\uFEFF/, ''))
  const read = await readFilled(source, env, new Report(source), { parts: new PartFiles(request.parts) })
  if (!read.written) throw new Error('a valid configuration could not be read again')
  const { written, secrets, sourceFiles } = read
  const page = { source, root: written, secrets }
  const view = { plan, written }
  const left = skipped.map(nowCalled)
  const enabled = lintRules.filter(rule => !left.includes(rule.id))
  const found = enabled.flatMap(rule => [...rule.look(view)].map(sighting => toFinding({ ...rule, ...sighting }, page)))
  const ignores = sourceFiles.flatMap(sourceFile => {
    const tokens = readTokens(sourceFile.text, sourceFile.own).map(token => ({
      ...token,
      at: token.at + sourceFile.start,
    }))
    return readIgnores(tokens, source)
  })
  const order = sourceFiles.map(sourceFile => source.sourceFileOf(sourceFile.start).file)
  const used = new Set<string>()
  const kept = found.filter(({ code, file: name, line }) => {
    const silencing = ignores.filter(
      one =>
        one.reason !== '' &&
        one.rules.some(rule => nowCalled(rule) === code) &&
        one.file === name &&
        one.lines.includes(line),
    )
    for (const one of silencing) used.add(`${one.at} ${code}`)
    return silencing.length === 0
  })
  const slips = ignores.flatMap(one => slipsOf(one, used, left).map(slip => toFinding(slip, page)))
  const findings = [...kept, ...slips].toSorted(
    (a, b) => order.indexOf(a.file) - order.indexOf(b.file) || a.line - b.line || a.col - b.col,
  )
  return { findings, ignored: found.length - kept.length }
}

type Page = { readonly source: Source; readonly root: Tree; readonly secrets: Secrets }

type RuleFinding = {
  readonly id: string
  readonly severity: LintFinding['severity']
  readonly message: string
  readonly remedy: string
  readonly path?: Path
  readonly span?: Span
}

function toFinding(
  { id, severity, message, remedy, path = [], span }: RuleFinding,
  { source, root, secrets }: Page,
): LintFinding {
  const at = span ?? spanOf(root, path)
  return {
    severity,
    code: id,
    ...source.locate(at.start),
    path: secrets.mask(formatPath(path)),
    message: secrets.mask(message),
    remedy,
    caret: secrets.maskInPlace(drawCaret(source, at, secrets.spans)),
  }
}

/** The place of the value at a path, or of the nearest parent without it. */
function spanOf(root: Tree, path: Path): Span {
  const { node, whole, keySpan } = findNode(root, path)
  if (whole && node.kind === 'scalar') return node.span
  return keySpan ?? { start: node.span.start, end: node.span.start + 1 }
}

/** Findings about an ignore comment itself: it silences nothing, or gives no reason. */
function slipsOf(
  { rules, reason, at }: Ignore,
  used: ReadonlySet<string>,
  skipped: readonly string[],
): readonly RuleFinding[] {
  const ids = lintRules.map(rule => rule.id)
  const span = { start: at, end: at + 1 }
  return rules.flatMap((written): readonly RuleFinding[] => {
    const rule = nowCalled(written)
    const slip = slipOf(rule)
    if (rule === written) return slip
    const message = `'${written}' is now called '${rule}'`
    return [
      { id: ignoreRules.renamed, severity: 'note', message, remedy: `write ${rule}: both mean the same`, span },
      ...slip,
    ]
  })

  function slipOf(rule: string): readonly RuleFinding[] {
    if (!ids.includes(rule)) {
      const near = findNear(rule, ids)
      const remedy = near === undefined ? 'tollgate lint --rules lists them' : `did you mean '${near}'?`
      return [{ id: ignoreRules.unknown, severity: 'warning', message: `there is no rule '${rule}'`, remedy, span }]
    }
    if (reason === '') {
      const remedy = `add the reason: # tollgate-ignore: ${rule} reason`
      return [
        {
          id: ignoreRules.bare,
          severity: 'warning',
          message: `'${rule}' cannot be ignored without a reason`,
          remedy,
          span,
        },
      ]
    }
    if (used.has(`${at} ${rule}`) || skipped.includes(rule)) return []
    return [
      {
        id: ignoreRules.unused,
        severity: 'note',
        message: `'${rule}' finds nothing here`,
        remedy: 'remove the comment',
        span,
      },
    ]
  }
}
