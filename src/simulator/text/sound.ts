export type SoundFormat = 'mp3' | 'wav' | 'pcm'

const samplesPerSecond = 24_000
const wordSeconds = 0.12
const bytesPerSample = 2
const wavHeadBytes = 44

/** A tone for each word, each at its own pitch: 24 kHz, 16 bits, one channel. MP3 is silence of the same length. */
export function soundOf(format: SoundFormat, words: number): Buffer {
  const seconds = Math.max(1, words) * wordSeconds
  if (format === 'mp3') return silence(seconds)
  const samples = Buffer.alloc(Math.round(seconds * samplesPerSecond) * bytesPerSample)
  for (let i = 0; i < samples.length / bytesPerSample; i++) {
    const at = i / samplesPerSecond
    const height = 220 * 2 ** ((Math.floor(at / wordSeconds) % 12) / 12)
    samples.writeInt16LE(Math.round(6000 * Math.sin(2 * Math.PI * height * at)), i * bytesPerSample)
  }
  return format === 'pcm' ? samples : Buffer.concat([wavHead(samples.length), samples])
}

/** The length of a sound in seconds: from the header of a WAV, otherwise from its bytes at 128 kbit/s. */
export function lengthOf(sound: Buffer): number {
  const isWav = sound.length >= wavHeadBytes && sound.toString('latin1', 0, 4) === 'RIFF'
  const perSecond = isWav ? sound.readUInt32LE(28) : 16_000
  const bytes = isWav ? sound.length - wavHeadBytes : sound.length
  return Math.round((bytes / (perSecond || 1)) * 100) / 100
}

function wavHead(bytes: number): Buffer {
  const head = Buffer.alloc(wavHeadBytes)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(wavHeadBytes - 8 + bytes, 4)
  head.write('WAVEfmt ', 8, 'latin1')
  head.writeUInt32LE(16, 16)
  head.writeUInt16LE(1, 20)
  head.writeUInt16LE(1, 22)
  head.writeUInt32LE(samplesPerSecond, 24)
  head.writeUInt32LE(samplesPerSecond * bytesPerSample, 28)
  head.writeUInt16LE(bytesPerSample, 32)
  head.writeUInt16LE(8 * bytesPerSample, 34)
  head.write('data', 36, 'latin1')
  head.writeUInt32LE(bytes, 40)
  return head
}

/** MPEG-2 layer III at 24 kHz and 8 kbit/s, one channel: empty frames of 24 bytes and 576 samples. */
function silence(seconds: number): Buffer {
  const frame = Buffer.alloc(24)
  frame.writeUInt32BE(0xfff314c4)
  const count = Math.ceil((seconds * samplesPerSecond) / 576)
  return Buffer.concat(Array.from({ length: count }, () => frame))
}
