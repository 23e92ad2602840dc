import { useRef, useState } from 'preact/hooks'

/**
 * Runs one action at a time: until its promise settles, others are ignored. A second click may come before the page is
 * drawn again.
 */
export function useOneAction(): readonly [isRunning: boolean, run: (action: () => unknown) => Promise<void>] {
  const [isRunning, setRunning] = useState(false)
  const running = useRef(false)
  const run = async (action: () => unknown) => {
    if (running.current) return
    const work = action()
    if (!(work instanceof Promise)) return
    running.current = true
    setRunning(true)
    try {
      await work
    } finally {
      running.current = false
      setRunning(false)
    }
  }
  return [isRunning, run]
}
