import { isWatched, say } from './exit.ts'

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 100
/** Without a terminal, long work reports its progress so often. */
const plainMs = 10_000

/** How far work has come. */
type Progress = {
  /** What is being done now: `12,000 charges replayed`. */
  report(text: string): void
  /** Takes the line away, for something else to be written there. */
  clear(): void
  /** Nothing is left of it on a terminal. */
  end(): void
}

/** Reports the progress of work: on a terminal by a line that moves, else by a plain line from time to time. */
function startProgress(first: string): Progress {
  let now = first
  if (!isWatched()) {
    let lastAt = performance.now()
    return {
      report(text) {
        if (performance.now() - lastAt < plainMs) return
        lastAt = performance.now()
        say(`${text} …`)
      },
      clear: () => undefined,
      end: () => undefined,
    }
  }
  let frame = 0
  const draw = (): void => {
    // A text longer than the line would be drawn again below itself.
    const text = `${frames[frame++ % frames.length]} ${now}`.slice(0, Math.max(process.stderr.columns - 1, 20))
    process.stderr.write(`\r\u001b[K${text}`)
  }
  const clear = (): void => void process.stderr.write('\r\u001b[K')
  draw()
  const timer = setInterval(draw, frameMs).unref()
  return {
    report(text) {
      now = text
    },
    clear,
    end() {
      clearInterval(timer)
      clear()
    },
  }
}

/** Work that reports its progress until it ends. */
export async function withProgress<T>(first: string, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = startProgress(first)
  try {
    return await work(progress)
  } finally {
    progress.end()
  }
}
