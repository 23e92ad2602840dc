import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useLoad } from '../api/load.ts'
import type { Pickable } from '../api/pickers.ts'
import type { Key } from '../api/shapes.ts'
import { t } from '../words/index.ts'
import { Button } from './button.tsx'
import { Chip, ChipChoices } from './chip.tsx'
import type { Option } from './combobox.tsx'
import { FilterLine } from './filter-line.tsx'
import { later } from './later.tsx'

const PickPanel = later(async () => (await import('./pick-panel.tsx')).PickPanel, null)

/** The filters of a page on one line. `onClear` removes all filters; undefined if none is set. */
export function FilterBar({
  children,
  onClear,
}: {
  readonly children?: ComponentChildren
  readonly onClear?: (() => void) | false | undefined
}) {
  return (
    <search class="chips" aria-label={t('filter')}>
      {children}
      {onClear && (
        <Button kind="quiet" onClick={onClear}>
          {t('filter.clear')}
        </Button>
      )}
    </search>
  )
}

type FilterProps = {
  readonly label: string
  readonly value: string | undefined
  /** An empty text removes the filter. */
  readonly onPick: (value: string) => void
}

/** A chip with one field; a choice closes it. `text`: the readable value. */
function FieldChip({
  label,
  value,
  text = value,
  onPick,
  children,
}: FilterProps & {
  readonly text?: string | undefined
  readonly children: (pick: (value: string) => void) => ComponentChildren
}) {
  const pickAnd = (close: () => void) => (picked: string) => {
    close()
    onPick(picked)
  }
  return (
    <Chip label={label} {...(value && { value: text, onClear: () => onPick('') })}>
      {close => children(pickAnd(close))}
    </Chip>
  )
}

/** A model, user, key or group, found by a part of its name. `isFree`: names outside the list are valid too. */
export function PickFilter({
  of,
  text,
  isFree = false,
  ...props
}: FilterProps & { readonly of: Pickable; readonly text?: string | undefined; readonly isFree?: boolean }) {
  const { label, value = '' } = props
  return (
    <FieldChip {...props} text={text}>
      {pick => <PickPanel label={label} value={value} text={text ?? value} of={of} isFree={isFree} onPick={pick} />}
    </FieldChip>
  )
}

/** A key, with its name as soon as it is known. */
export function KeyFilter({ value, onPick }: Omit<FilterProps, 'label'>) {
  const { value: key } = useLoad<Key>(value ? `/keys/${encodeURIComponent(value)}` : null)
  return <PickFilter of="key" label={t('token')} value={value} text={key?.name ?? value} onPick={onPick} />
}

/** One of many values, filtered by typed text. `hint`: the field's own label, if the filter's is too short. */
export function SearchFilter({
  options,
  hint,
  isFree = false,
  onSearch,
  ...props
}: FilterProps & {
  readonly options: readonly Option[]
  readonly hint?: string
  readonly isFree?: boolean
  /** Called with each typed text, for options that the gateway searches. */
  readonly onSearch?: (text: string) => void
}) {
  const { label, value = '' } = props
  const text = options.find(one => one.value === value)?.text ?? value
  return (
    <FieldChip {...props} text={text}>
      {pick => (
        <PickPanel
          label={hint ?? label}
          value={value}
          text={text}
          of={options}
          isFree={isFree}
          onPick={pick}
          {...(onSearch && { onSearch })}
        />
      )}
    </FieldChip>
  )
}

/** One of a few values. */
export function ChoiceFilter({
  of,
  ...props
}: FilterProps & { readonly of: readonly (readonly [value: string, text: string])[] }) {
  const { label, value } = props
  return (
    <FieldChip {...props} text={of.find(([one]) => one === value)?.[1] ?? value}>
      {pick => <ChipChoices label={label} of={of} chosen={value} onPick={pick} />}
    </FieldChip>
  )
}

/** Any text. `text`: the readable value. */
export function TextFilter({ text, ...props }: FilterProps & { readonly text?: string | undefined }) {
  const { label, value = '' } = props
  return (
    <FieldChip {...props} text={text}>
      {pick => <FilterLine label={label} value={value} onPick={pick} />}
    </FieldChip>
  )
}

/** The first and the last day, both included. */
export function DaysFilter({
  from,
  to,
  onFrom,
  onTo,
}: {
  readonly from: string
  readonly to: string
  readonly onFrom: (day: string) => void
  readonly onTo: (day: string) => void
}) {
  return (
    <div class="dates">
      <FilterLine label={t('costs.from')} type="date" value={from} onPick={onFrom} />
      <FilterLine label={t('costs.to')} type="date" value={to} onPick={onTo} />
    </div>
  )
}

/**
 * A search in a list. `isLive`: searches while the user types: after each letter in completely loaded lists, or after a
 * pause of `pauseMs` in lists that the gateway searches.
 */
export function FindFilter({
  label,
  value,
  isLive = false,
  pauseMs = 0,
  onPick,
}: FilterProps & { readonly isLive?: boolean; readonly pauseMs?: number }) {
  const input = useRef<HTMLInputElement>(null)
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined)
  useEffect(() => {
    // Letters that are typed before the address changes stay.
    const isTyping = pauseMs > 0 && document.activeElement === input.current
    if (input.current && !isTyping) input.current.value = value ?? ''
  }, [value])
  useEffect(() => () => clearTimeout(timer.current), [])
  const read = () => {
    clearTimeout(timer.current)
    if (input.current && input.current.value !== (value ?? '')) onPick(input.current.value)
  }
  const wait = () => {
    clearTimeout(timer.current)
    timer.current = setTimeout(() => latest.current(), pauseMs)
  }
  const latest = useRef(read)
  latest.current = read
  return (
    <div class="find">
      <input
        ref={input}
        type="search"
        autocomplete="off"
        aria-label={label}
        placeholder={label}
        onChange={read}
        {...(isLive && { onInput: pauseMs > 0 ? wait : read })}
      />
    </div>
  )
}
