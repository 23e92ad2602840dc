type Event = {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[]
  readonly error?: { readonly message?: string }
}

/**
 * The text of a streamed answer, told as it grows.
 * @throws Error what the stream itself says went wrong
 */
export async function readStream(response: Response, show: (text: string) => void): Promise<string> {
  let text = ''
  let rest = ''
  const decoder = new TextDecoderStream() as TransformStream<Uint8Array, string>
  if (!response.body) return text
  for await (const chunk of response.body.pipeThrough(decoder)) {
    const lines = (rest + chunk).split(/\r?\n/)
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (!line.startsWith('data:') || line.trim() === 'data: [DONE]') continue
      const event = JSON.parse(line.slice('data:'.length)) as Event
      if (event.error) throw new Error(event.error.message ?? 'error')
      text += event.choices?.[0]?.delta?.content ?? ''
    }
    show(text)
  }
  return text
}
