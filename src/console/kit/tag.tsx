import type { ComponentChildren } from 'preact'

/** A name that belongs to its neighbour; one of an accent is what to look for. */
export function Tag({ accent = false, children }: { readonly accent?: boolean; readonly children: ComponentChildren }) {
  return <span class={accent ? 'tag accent' : 'tag'}>{children}</span>
}
