import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { fieldText } from '../words/moment.ts'

/** The attributes of date inputs. Without a maximum, a browser takes years of six digits. */
export const dateLimits: { readonly [type: string]: { readonly max: string } } = {
  date: { max: '9999-12-31' },
  month: { max: '9999-12' },
  'datetime-local': { max: '9999-12-31T23:59' },
}

type DatedProps = {
  readonly value: string
  /** The meaning of an empty field, shown instead of the browser's own format. */
  readonly empty?: string | undefined
  readonly children: ComponentChildren
}

/** A date field in the page's own date format. With the focus, it has the browser's format for typing. */
function Dated({ value, empty = '', children }: DatedProps) {
  const [typed, setTyped] = useState(value)
  useEffect(() => setTyped(value), [value])
  const own = fieldText(typed)
  const text = own || empty
  return (
    <span
      class={['dated', text && 'filled', !own && 'quiet'].filter(Boolean).join(' ')}
      onInput={event => setTyped((event.target as HTMLInputElement).value)}
    >
      {children}
      <span class="dated-text" aria-hidden="true">
        {text}
      </span>
    </span>
  )
}

/** The same for any type of input; only date inputs are wrapped. */
export function Dates({ type, children, ...of }: DatedProps & { readonly type: string }) {
  return type in dateLimits ? <Dated {...of}>{children}</Dated> : <>{children}</>
}
