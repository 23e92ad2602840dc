import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { usePoll } from './poll.ts'
import type { AlertList } from './shapes.ts'

const everyMs = 60_000

/** The number of open alerts; the alerts page also updates it. */
export const openAlerts = signal(0)

/** Keeps the number current for users who may see alerts. */
export function useOpenAlerts(mayRead: boolean): number {
  const { value } = usePoll<AlertList>(mayRead ? '/alerts' : null, everyMs)
  useEffect(() => {
    if (value) openAlerts.value = value.open
  }, [value])
  return openAlerts.value
}
