import type { ComponentChildren } from 'preact'

/** A label for the element next to it; an accented one is important. */
export function Tag({ accent = false, children }: { readonly accent?: boolean; readonly children: ComponentChildren }) {
  return <span class={accent ? 'tag accent' : 'tag'}>{children}</span>
}
