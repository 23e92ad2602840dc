import type { ComponentChildren } from 'preact'

/** A piece of text as it is written for machines, and what can be done with it. */
export function CodeBox({
  text,
  label,
  children,
}: {
  readonly text: string
  readonly label: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="code-box">
      <pre tabIndex={0} aria-label={label}>
        <code>{text}</code>
      </pre>
      {children}
    </div>
  )
}
