import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { t } from '../words/index.ts'

/** The element with a page's list, the target of a skip link past all filters. */
export const listPlace = { id: 'list', tabIndex: -1 } as const

// The first page leaves the focus at the browser's position.
let shownBefore = false

/** A page's heading, actions and content. */
export function Page({
  title,
  actions,
  hasList = false,
  children,
}: {
  readonly title: string
  readonly actions?: ComponentChildren
  /** Whether many focusable elements precede a list that `listPlace` marks. */
  readonly hasList?: boolean
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
        {hasList && (
          <a class="skip" href={`#${listPlace.id}`}>
            {t('skip.list')}
          </a>
        )}
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}
