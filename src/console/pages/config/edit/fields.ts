import type { Editable } from '../../../api/shapes.ts'
import { t, tName, type Word } from '../../../words/index.ts'
import { allDayChoices, periodChoices } from '../../../words/period.ts'
import { type Path, pathText, type Staged, type Value, valueAt, valueText } from './changes.ts'

export type Entry = Editable['models'][number]
export type Section = 'models' | 'groups'

/** An editable path of an entry. */
export type EntryField = {
  /** In the format of findings: `models.NAME.prices.input`. */
  readonly name: string
  readonly path: Path
  readonly label: string
  /** `day`: a choice whose integers are numbers in the file. */
  readonly kind: 'text' | 'decimal' | 'whole' | 'number' | 'choice' | 'day'
  /** Empty for no value. */
  readonly text: string
  readonly hint?: string
  readonly options?: readonly (readonly [value: string, text: string])[]
}

/** Fields on one row. */
export type FieldGroup = { readonly title: string; readonly hint?: string; readonly fields: readonly EntryField[] }

/** The editable settings of an entry. `changes`: the collected changes, which the fields show. */
export function fieldsOf(
  section: Section,
  entry: Entry,
  editable: Editable,
  changes: readonly Staged[],
  currency: string,
): readonly FieldGroup[] {
  const root: Path = [section, entry.name]
  const make: Make = (path, label, kind, more = {}) => {
    const whole = [...root, ...path]
    return { name: pathText(whole), path: whole, label, kind, text: textAt(entry, whole, changes), ...more }
  }
  return section === 'models' ? modelFields(entry, editable, currency, make) : groupFields(entry, currency, make)
}

type Make = (
  path: Path,
  label: string,
  kind: EntryField['kind'],
  more?: Pick<EntryField, 'hint' | 'options'>,
) => EntryField

/** The value of a field: the collected change, or otherwise the value in the file. */
function textAt(entry: Entry, path: Path, changes: readonly Staged[]): string {
  const staged = changes.find(one => pathText(one.path) === pathText(path))
  if (staged) return staged.value === undefined ? '' : valueText(staged.value)
  // A removed path has no value.
  const gone = changes.some(one => one.value === undefined && path.length > one.path.length && isStart(one.path, path))
  const value = gone ? undefined : valueAt(entry.whole as Value, path.slice(2))
  return value === undefined || value === null ? '' : valueText(value)
}

const isStart = (start: Path, path: Path): boolean => start.every((step, i) => path[i] === step)

function modelFields(entry: Entry, editable: Editable, currency: string, make: Make): readonly FieldGroup[] {
  const whole = entry.whole as Value
  const prices: FieldGroup = {
    title: t('edit.prices', { currency }),
    ...(hasForeignPrices(entry) && { hint: t('edit.prices.foreign') }),
    fields: [
      ...pricesOf(whole, editable).map(unit => make(['prices', unit], tName('unit', unit), 'decimal')),
      make(['price'], t('edit.price'), 'choice', {
        options: [
          ['', t('edit.price.listed')],
          ['free', t('free')],
        ],
      }),
    ],
  }
  // A model from a list has its other settings in common with the list.
  if (entry.own === null) return [{ ...prices, hint: t('edit.listed') }]
  const several = valueAt(entry.own as Value, ['upstreams'])
  const candidates = Array.isArray(several) ? (several as readonly Value[]) : []
  return [
    prices,
    {
      title: t('edit.served'),
      fields: [
        make(['upstream'], t('upstream'), 'choice', { options: choices(editable.upstreams) }),
        ...(editable.route_sets.length > 0
          ? [make(['routes'], t('edit.routes'), 'choice', { options: choices(editable.route_sets) })]
          : []),
        make(['send_as'], t('edit.send_as'), 'text', { hint: t('edit.send_as.hint') }),
        ...candidates.flatMap((one, i) => {
          const of = valueText(valueAt(one, ['upstream']))
          return [
            make(['upstreams', i, 'weight'], t('edit.weight', { upstream: of }), 'number'),
            make(['upstreams', i, 'priority'], t('edit.priority', { upstream: of }), 'whole'),
          ]
        }),
      ],
    },
    {
      title: t('edit.offer'),
      fields: [
        make(['enabled'], t('edit.enabled'), 'choice', {
          options: [
            ['', t('edit.unsaid')],
            ['true', t('yes')],
            ['false', t('no')],
          ],
        }),
        make(['limits', 'rpm'], t('limit.rpm'), 'whole', { hint: t('edit.limit.hint') }),
        make(['ends'], t('edit.ends'), 'text', { hint: t('edit.ends.hint') }),
      ],
    },
  ]
}

const asText = (value: Value | undefined): string | null => (typeof value === 'string' ? value : null)

function groupFields(entry: Entry, currency: string, make: Make): readonly FieldGroup[] {
  const limits = (above: Path, title: Word): FieldGroup => ({
    title: t(title),
    fields: (['rpm', 'tpm', 'concurrency'] as const).map(name => make([...above, name], t(`limit.${name}`), 'whole')),
  })
  const budget = (member: string, title: Word): FieldGroup => ({
    title: t(title),
    fields: [
      make([member, 'amount'], `${t('edit.amount')} (${currency})`, 'decimal'),
      make([member, 'per'], t('tokens.period'), 'choice', {
        options: [['', t('edit.unsaid')], ...periodChoices(asText(valueAt(entry.whole as Value, [member, 'per'])))],
      }),
      make([member, 'resets_on'], t('tokens.resets'), 'day', { options: [['', t('edit.unsaid')], ...allDayChoices()] }),
      make([member, 'soft'], t('tokens.when_spent'), 'choice', {
        options: [
          ['', `${t('edit.unsaid')}${t('colon')}${t('tokens.when_spent.refuse')}`],
          ['false', t('tokens.when_spent.refuse')],
          ['true', t('tokens.when_spent.alert')],
        ],
      }),
    ],
  })
  return [
    { title: t('price'), fields: [make(['multiplier'], t('groups.multiplier'), 'decimal')] },
    limits([], 'edit.limits.key'),
    limits(['limits_per_user'], 'edit.limits.user'),
    limits(['limits_in_all'], 'edit.limits.all'),
    budget('budget', 'edit.budget'),
    budget('user_budget', 'edit.budget.user'),
    budget('end_user_budget', 'edit.budget.end_user'),
    { title: t('keys'), fields: [make(['keys_max'], t('ceilings.keys'), 'whole')] },
  ]
}

/** Names to choose from, and an empty option. */
function choices(names: readonly string[]): readonly (readonly [string, string])[] {
  return [['', t('edit.none')], ...names.map(name => [name, name] as const)]
}

/** The prices that models of its family have, its own first. */
function pricesOf(whole: Value, { families }: Editable): readonly string[] {
  const own = valueAt(whole, ['prices'])
  const named = own !== undefined && own !== null && typeof own === 'object' ? Object.keys(own) : []
  const family = families.find(({ name }) => name === valueAt(whole, ['family']))
  return [...new Set([...named, ...(family?.prices ?? [])])].filter(unit => unit !== 'from')
}

/** Whether the prices are outside the entry: in a table, or in `defaults`. */
function hasForeignPrices({ own, whole }: Entry): boolean {
  const [here, all] = [valueAt(own as Value, ['prices']), valueAt(whole as Value, ['prices'])]
  return all !== undefined && (here === undefined || valueAt(here, ['from']) !== undefined)
}
