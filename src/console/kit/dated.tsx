import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { fieldText } from '../words/moment.ts'

/**
 * A field of a date, written as dates are elsewhere on the page. While it has the focus, the browser shows its own
 * format to type in.
 */
function Dated({ value, children }: { readonly value: string; readonly children: ComponentChildren }) {
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped(value), [value])
  const text = fieldText(typed)
  return (
    <span
      class={text === '' ? 'dated' : 'dated filled'}
      onInput={event => setTyped((event.target as HTMLInputElement).value)}
    >
      {children}
      <span class="dated-text" aria-hidden="true">
        {text}
      </span>
    </span>
  )
}

/** The same for any type of input: only one of a date is wrapped. */
export function Dates({ type, value, children }: Parameters<typeof Dated>[0] & { readonly type: string }) {
  return type === 'date' || type === 'month' || type === 'datetime-local' ? (
    <Dated value={value}>{children}</Dated>
  ) : (
    <>{children}</>
  )
}
