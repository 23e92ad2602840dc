import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { usePoll } from './poll.ts'
import type { AlertList } from './shapes.ts'

const everyMs = 60_000

/** How many alerts are open; the page of alerts says so, too, when it knows. */
export const openAlerts = signal(0)

/** Keeps the number up to date for users who may see alerts. */
export function useOpenAlerts(mayRead: boolean): number {
  const { value } = usePoll<AlertList>(mayRead ? '/alerts' : null, everyMs)
  useEffect(() => {
    if (value) openAlerts.value = value.open
  }, [value])
  return openAlerts.value
}
