import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** A one-line field with its label above it. */
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
