import { useLayoutEffect, useRef } from 'preact/hooks'
import type { Pickable } from '../api/pickers.ts'
import { Combobox, type Option } from './combobox.tsx'
import { Labelled } from './labelled.tsx'
import { Picker } from './picker.tsx'

type PickPanelProps = {
  readonly label: string
  readonly value: string
  /** The readable value. */
  readonly text: string
  /** The source of the choices: a kind of resource of the gateway, or fixed options. */
  readonly of: Pickable | readonly Option[]
  readonly isFree: boolean
  readonly onPick: (value: string) => void
  /** Called with each typed text, for options that the gateway searches. */
  readonly onSearch?: (text: string) => void
}

/**
 * The search field of a filter. It gets the focus as soon as it has loaded: its script is fetched when a chip opens.
 */
export function PickPanel({ label, value, text, of, isFree, onPick, onSearch }: PickPanelProps) {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => place.current?.querySelector('input')?.focus(), [])
  const shared = { value, valueText: text, isFree, onPick }
  return (
    <div ref={place}>
      <Labelled label={label}>
        {id =>
          typeof of === 'string' ? (
            <Picker id={id} of={of} {...shared} />
          ) : (
            <Combobox id={id} options={of} {...shared} {...(onSearch && { onSearch })} />
          )
        }
      </Labelled>
    </div>
  )
}
