import { useEffect, useState } from 'preact/hooks'
import { queryText } from '../../api/call.ts'
import { Button } from '../../kit/button.tsx'
import { Icon } from '../../kit/icon.tsx'
import { bytes } from '../../numbers.ts'
import { t } from '../../words/index.ts'

/** A picture of an answer: its bytes, or a link. */
export type Picture = { readonly kind: 'bytes'; readonly blob: Blob } | { readonly kind: 'link'; readonly url: string }

type Answer = { readonly data?: readonly { readonly b64_json?: string | null; readonly url?: string | null }[] }

/** The content of an answer of the image endpoints. */
export async function readPictures(response: Response): Promise<readonly Picture[]> {
  const { data = [] } = (await response.json()) as Answer
  return data.flatMap(({ b64_json: base64, url }): Picture[] => {
    if (base64) return [{ kind: 'bytes', blob: decode(base64) }]
    const inline = url ? /^data:image\/[a-z]+;base64,([A-Za-z0-9+/=]*)$/.exec(url) : null
    if (inline?.[1]) return [{ kind: 'bytes', blob: decode(inline[1]) }]
    return url ? [{ kind: 'link', url }] : []
  })
}

function decode(base64: string): Blob {
  const raw = atob(base64)
  const content = new Uint8Array(raw.length)
  for (let i = 0; i < raw.length; i++) content[i] = raw.charCodeAt(i)
  return new Blob([content], { type: typeOf(content) })
}

/** Detects the type by the first bytes: only pictures are shown. */
function typeOf(content: Uint8Array): string {
  if (content[0] === 0x89) return 'image/png'
  if (content[0] === 0xff) return 'image/jpeg'
  return content[0] === 0x52 ? 'image/webp' : 'application/octet-stream'
}

/** Pictures with their real sizes. The page itself never follows a link. */
export function Pictures({ of }: { readonly of: readonly Picture[] }) {
  if (of.length === 0) return <p>{t('play.no_images')}</p>
  return (
    <div class="pictures">
      {of.map((picture, i) =>
        picture.kind === 'bytes' ? (
          <Shown key={i} blob={picture.blob} number={i + 1} />
        ) : (
          <Unopened key={i} url={picture.url} number={i + 1} />
        ),
      )}
    </div>
  )
}

function Shown({ blob, number }: { readonly blob: Blob; readonly number: number }) {
  const [address, setAddress] = useState('')
  const [size, setSize] = useState('…')
  useEffect(() => {
    const url = URL.createObjectURL(blob)
    setAddress(url)
    return () => URL.revokeObjectURL(url)
  }, [blob])
  const extension = blob.type.replace('image/', '')
  return (
    <figure>
      {address !== '' && (
        <img
          src={address}
          alt={t('play.image', { number })}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => setSize(`${naturalWidth}x${naturalHeight}`)}
          onError={() => setSize('')}
        />
      )}
      <figcaption class="inline">
        <span>
          {size || t('play.unreadable')} · {bytes(blob.size)} · {extension}
        </span>
        <a href={address} download={`image-${number}.${extension}`}>
          {t('save')}
        </a>
      </figcaption>
    </figure>
  )
}

/** A link that the gateway follows only when the user opens it. */
function Unopened({ url, number }: { readonly url: string; readonly number: number }) {
  const safe = /^https?:\/\//i.test(url)
  const [state, setState] = useState<'closed' | 'open' | 'failed'>('closed')
  const [size, setSize] = useState('…')
  if (state === 'open')
    return (
      <figure>
        <img
          src={`/api/playground/picture${queryText({ url })}`}
          alt={t('play.image', { number })}
          onLoad={({ currentTarget: { naturalWidth, naturalHeight } }) => setSize(`${naturalWidth}x${naturalHeight}`)}
          onError={() => setState('failed')}
        />
        <figcaption class="inline">
          <span>{size}</span>
          <a href={url} target="_blank" rel="noopener noreferrer">
            {t('play.open')}
          </a>
        </figcaption>
      </figure>
    )
  return (
    <figure class="unopened">
      <p>{t(state === 'failed' ? 'play.unshown' : 'play.unopened')}</p>
      {safe && <Button onClick={() => setState('open')}>{t(state === 'failed' ? 'retry' : 'play.show')}</Button>}
      {safe ? (
        <a class="button" href={url} target="_blank" rel="noopener noreferrer">
          <Icon name="out" />
          {t('play.open')}
        </a>
      ) : (
        <code class="theirs">{url.slice(0, 200)}</code>
      )}
      <p class="quiet">{t('play.temporary')}</p>
    </figure>
  )
}
