type Event = {
  readonly choices?: readonly ({ readonly delta?: { readonly content?: string | null } } | null)[] | null
  readonly error?: { readonly message?: string }
}

/** Null if it is not JSON, such as the last event, `[DONE]`. */
function readEvent(data: string): Event | null {
  try {
    return JSON.parse(data) as Event | null
  } catch {
    return null
  }
}

/**
 * The text of a streamed answer, reported as it grows.
 * @throws Error an error in the stream itself
 */
export async function readStream(response: Response, show: (text: string) => void): Promise<string> {
  let text = ''
  let rest = ''
  const decoder = new TextDecoderStream() as TransformStream<Uint8Array, string>
  if (!response.body) return text
  const reader = response.body.pipeThrough(decoder).getReader()
  try {
    // WebKit does not support `for await` on a stream.
    for (let part = await reader.read(); !part.done; part = await reader.read()) {
      const lines = (rest + part.value).split(/\r?\n/)
      rest = lines.pop() ?? ''
      for (const line of lines) {
        const event = line.startsWith('data:') ? readEvent(line.slice('data:'.length)) : null
        if (event?.error) throw new Error(event.error.message ?? 'error')
        text += event?.choices?.[0]?.delta?.content ?? ''
      }
      show(text)
    }
  } finally {
    // A complete or broken stream cannot be cancelled.
    await reader.cancel().catch(() => undefined)
  }
  return text
}
