import { isWatched, say } from './exit.ts'

const frames = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const frameMs = 100
/** The interval of progress reports without a terminal. */
const plainMs = 10_000

/** The progress of work. */
type Progress = {
  /** The current state: `12,000 charges replayed`. */
  report(text: string): void
  /** Clears the line, so that other output can be written there. */
  clear(): void
  /** Ends it, and clears the line on a terminal. */
  end(): void
}

/** Reports progress: on a terminal in a line that is overwritten, else in a plain line from time to time. */
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
    // The terminal would wrap a longer text, and the next frame would not overwrite all of it.
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

/** Reports progress while a function runs. */
export async function withProgress<T>(first: string, work: (progress: Progress) => Promise<T>): Promise<T> {
  const progress = startProgress(first)
  try {
    return await work(progress)
  } finally {
    progress.end()
  }
}
