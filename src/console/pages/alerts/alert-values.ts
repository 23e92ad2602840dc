import { queryText } from '../../api/call.ts'
import type { AlertList } from '../../api/shapes.ts'
import { shownAmount } from '../../shown-money.ts'
import { t, tName } from '../../words/index.ts'
import { momentText } from '../../words/moment.ts'

export type Alert = AlertList['alerts'][number]
type Data = Alert['data']

/** Keys of an alert's texts: a finished event has no end to show, and a budget that refused may have money left. */
export function wordOf(kind: Alert['kind'], { is_over: isOver, refused, spent, amount }: Data): string {
  if (kind === 'budget.exhausted' && refused === true && Number(spent) < Number(amount)) return 'budget.short'
  return kind === 'certificate.ends' && isOver === true ? 'certificate.over' : kind
}

/** The values of an alert's sentence. `translateFinding` translates a finding in it into the reader's language. */
export function textsOf(
  data: Data,
  translateFinding: (finding: string) => string = String,
): { readonly [name: string]: string } {
  const blank = {
    level: '',
    name: '',
    percent: '',
    spent: '',
    amount: '',
    currency: '',
    upstream: '',
    key: '',
    code: '',
  }
  const more = { webhook: '', waiting: '', given_up: '', count: '', first: '', ends: '', last: '' }
  const entries = Object.entries(data).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.map(one => translateFinding(textOf(one))).join(t('edit.and')) : textOf(value),
  ])
  const texts: Record<string, string> = { ...blank, ...more, findings: '', ...Object.fromEntries(entries) }
  if (texts['level'] !== undefined && texts['level'] !== '') texts['level'] = tName('budgets.level', texts['level'])
  // Events have the id of a key, but people know its name.
  if (typeof data['called'] === 'string') texts['name'] = data['called']
  // An event has the threshold and the spend at that time; the page shows the current spend.
  texts['threshold'] = texts['percent'] ?? ''
  texts['percent'] = texts['percent_now'] ?? texts['threshold']
  texts['spent'] = texts['spent_now'] ?? texts['spent'] ?? ''
  for (const name of ['spent', 'amount'])
    if (/^\d+(\.\d+)?$/.test(texts[name] ?? '')) texts[name] = shownAmount(texts[name] ?? '')
  const ends = new Date(texts['ends'] ?? '')
  if (!Number.isNaN(ends.getTime())) texts['ends'] = momentText(ends)
  return texts
}

function textOf(value: unknown): string {
  if (value === null) return '–'
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** The page where a person can act on the alert. */
export function whereOf(kind: string, { level, name }: Data): string | undefined {
  if (kind.startsWith('budget.')) {
    const whose = typeof name === 'string' ? name : ''
    if (level === 'key') return `/console/tokens/${encodeURIComponent(whose)}`
    if (level === 'group') return '/console/budgets'
    // Viewers may not edit users, but this page shows everyone their budgets.
    return `/console/budgets${queryText({ user: whose })}`
  }
  if (kind.startsWith('upstream.') || kind === 'webhook.failing' || kind === 'certificate.ends')
    return '/console/system'
  if (kind === 'config.refused') return '/console/config'
  if (kind === 'charges.review') return '/console/logs?charge=needs_review'
  return undefined
}
