import { useEffect, useRef } from 'preact/hooks'
import { t } from '../words/index.ts'
import { dateLimits, Dates } from './dated.tsx'
import { Labelled } from './labelled.tsx'

/** A text filter. It applies on blur or Enter, not after each letter. */
export function FilterLine({
  label,
  value,
  onPick,
  list,
  type = 'search',
}: {
  readonly label: string
  readonly value: string
  readonly onPick: (value: string) => void
  readonly list?: readonly string[]
  readonly type?: 'search' | 'datetime-local' | 'date' | 'month'
}) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (input.current) input.current.value = value
  }, [value])
  return (
    <Labelled label={label}>
      {id => (
        <>
          <Dates type={type} value={value} empty={t('any')}>
            <input
              ref={input}
              id={id}
              type={type}
              {...dateLimits[type]}
              autocomplete="off"
              {...(list && { list: `${id}-list` })}
              onChange={event => onPick(event.currentTarget.value.trim())}
            />
          </Dates>
          {list && (
            <datalist id={`${id}-list`}>
              {list.map(one => (
                <option key={one} value={one} />
              ))}
            </datalist>
          )}
        </>
      )}
    </Labelled>
  )
}

/** A filter with several options, and one for any value. */
export function FilterChoice({
  label,
  value,
  values,
  none,
  onPick,
}: {
  readonly label: string
  readonly value: string
  readonly values: readonly (readonly [value: string, text: string])[]
  /** The option for no value; "any" by default. */
  readonly none?: string
  readonly onPick: (value: string) => void
}) {
  const known = value === '' || values.some(([one]) => one === value)
  return (
    <Labelled label={label}>
      {id => (
        <select id={id} value={value} onChange={event => onPick(event.currentTarget.value)}>
          <option value="">{none ?? t('any')}</option>
          {!known && <option value={value}>{value}</option>}
          {values.map(([one, text]) => (
            <option key={one} value={one}>
              {text}
            </option>
          ))}
        </select>
      )}
    </Labelled>
  )
}
