import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'

// The first page of all leaves the focus where the browser put it.
let shownBefore = false

/** A page's heading, what can be done on it, and what it shows. */
export function Page({
  title,
  actions,
  children,
}: {
  readonly title: string
  readonly actions?: ComponentChildren
  readonly children?: ComponentChildren
}) {
  const heading = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    document.title = `${title} · Tollgate`
  }, [title])
  useEffect(() => {
    if (shownBefore) heading.current?.focus({ preventScroll: true })
    shownBefore = true
  }, [])
  return (
    <>
      <header class="page-head">
        <h1 ref={heading} tabIndex={-1}>
          {title}
        </h1>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}
