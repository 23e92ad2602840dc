import { useEffect, useState } from 'preact/hooks'
import { Button } from '../../kit/button.tsx'
import { bytes } from '../../numbers.ts'
import { t } from '../../words/index.ts'

/** Files in the order in which they are sent. */
export function FileList({
  files,
  label,
  pictures = true,
  onChange,
}: {
  readonly files: readonly File[]
  readonly label: string
  /** Whether they are shown as pictures. */
  readonly pictures?: boolean
  readonly onChange: (files: readonly File[]) => void
}) {
  const move = (at: number, by: number) => {
    const moved = files.toSpliced(at, 1)
    const file = files[at]
    if (file) onChange(moved.toSpliced(at + by, 0, file))
  }
  if (files.length === 0) return null
  return (
    <ol class="files" aria-label={label}>
      {files.map((file, i) => (
        <li key={`${i}-${file.name}-${file.size}`}>
          {pictures && <Thumb file={file} />}
          <span>
            <span class="theirs">{file.name}</span> <span class="quiet">{bytes(file.size)}</span>
          </span>
          {files.length > 1 && (
            <>
              <Button
                kind="quiet"
                icon="up"
                disabled={i === 0}
                aria-label={t('play.up', { name: file.name })}
                onClick={() => move(i, -1)}
              />
              <Button
                kind="quiet"
                icon="down"
                disabled={i === files.length - 1}
                aria-label={t('play.down', { name: file.name })}
                onClick={() => move(i, 1)}
              />
            </>
          )}
          <Button
            kind="quiet"
            icon="close"
            aria-label={t('play.remove', { name: file.name })}
            onClick={() => onChange(files.toSpliced(i, 1))}
          />
        </li>
      ))}
    </ol>
  )
}

function Thumb({ file }: { readonly file: File }) {
  const [address, setAddress] = useState('')
  useEffect(() => {
    const url = URL.createObjectURL(file)
    setAddress(url)
    return () => URL.revokeObjectURL(url)
  }, [file])
  return address === '' ? null : <img src={address} alt="" />
}
