import type { Test } from 'tap'

/**
 * Runs one battery as a script: its figures as one line of JSON to standard output, exit 1 for a broken promise. Its
 * child processes end with it, also when it gets a signal to stop.
 */
export async function runScript(
  run: (t: Pick<Test, 'teardown'>) => Promise<{ readonly violations: readonly string[] }>,
): Promise<void> {
  const stops: (() => unknown)[] = []
  const stop = async (): Promise<void> => {
    for (let next = stops.pop(); next; next = stops.pop()) await next()
  }
  process.once('SIGTERM', () => void stop().finally(() => process.exit(1)))
  try {
    const figures = await run({ teardown: (end: () => unknown) => void stops.push(end) })
    process.stdout.write(`${JSON.stringify(figures)}\n`)
    if (figures.violations.length > 0) process.exitCode = 1
  } finally {
    await stop()
  }
}
