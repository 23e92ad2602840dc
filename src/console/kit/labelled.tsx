import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** A field of one line: what it is called, above it. */
export function Labelled({
  label,
  children,
}: {
  readonly label: string
  readonly children: (id: string) => ComponentChildren
}) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {children(id)}
    </div>
  )
}
