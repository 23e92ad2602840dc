import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../api/call.ts'
import { t } from '../words/index.ts'
import { Problem } from './problem.tsx'
import { type Shape, Skeleton } from './skeleton.tsx'

const pages: (() => Promise<void>)[] = []

/** Prefetches the scripts of pages while idle, one after another; not for users who save data. */
export async function fetchPages(): Promise<void> {
  const { connection } = navigator as { readonly connection?: { readonly saveData?: boolean } }
  if (connection?.saveData) return
  // A script that cannot be fetched now is fetched when its page is opened.
  for (const fetchPage of pages.splice(0)) await fetchPage().catch(() => undefined)
}

/** A part whose script is fetched when it is first shown. `shape`: its outline until then; null for none. */
export function later<P extends object>(
  load: () => Promise<ComponentType<P>>,
  shape: Shape | null = 'page',
): ComponentType<P> {
  let known: ComponentType<P> | undefined
  if (shape === 'page') pages.push(async () => void (known ??= await load()))
  return function Later(props: P) {
    const [state, setState] = useState<{ readonly part?: ComponentType<P>; readonly failed?: true }>(
      known ? { part: known } : {},
    )
    useEffect(() => {
      if (known) return undefined
      let isGone = false
      load().then(
        part => {
          known = part
          if (!isGone) setState({ part })
        },
        () => isGone || setState({ failed: true }),
      )
      return () => void (isGone = true)
    }, [])
    const { part: Part, failed } = state
    if (Part) return <Part {...props} />
    // Not every browser retries a failed script, and scripts from before an update no longer exist.
    if (failed)
      return <Problem error={new ApiError(0, 'offline', t('problem.offline'))} onRetry={() => location.reload()} />
    return shape && <Skeleton shape={shape} />
  }
}
