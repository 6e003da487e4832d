// Packs texts into large buffers. A hundred thousand strings of a few hundred bytes burden the garbage collector; a few dozen
// buffers outside its heap do not.

const BUFFER_BYTES = 1 << 20

export class PackedTexts {
  /** Limit for the new and changed rows of one result. */
  static readonly BYTES_MAX = 256 << 20
  /** Returned by `add` when the store is full. */
  static readonly FULL = -2

  readonly #buffers: Buffer[] = []
  /** Three numbers per text: its buffer, its first byte and the byte after its last. */
  #positions = new Uint32Array(3 * 1_024)
  #count = 0
  #freeBytes = 0
  #bytes = 0

  /** Returns the text's index. */
  add(text: string): number {
    const length = Buffer.byteLength(text)
    this.#bytes += length
    if (this.#bytes > PackedTexts.BYTES_MAX) return PackedTexts.FULL
    if (length > this.#freeBytes || this.#buffers.length === 0) {
      this.#freeBytes = Math.max(BUFFER_BYTES, length)
      this.#buffers.push(Buffer.allocUnsafeSlow(this.#freeBytes))
    }
    const buffer = this.#buffers.length - 1
    const bytes = this.#buffers[buffer]!
    const start = bytes.length - this.#freeBytes
    bytes.write(text, start)
    this.#freeBytes -= length
    return this.#addPosition(buffer, start, start + length)
  }

  #addPosition(buffer: number, start: number, end: number): number {
    const at = 3 * this.#count
    if (at === this.#positions.length) {
      const larger = new Uint32Array(2 * at)
      larger.set(this.#positions)
      this.#positions = larger
    }
    this.#positions.set([buffer, start, end], at)
    return this.#count++
  }

  get(index: number): string {
    const [buffer, start, end] = this.#positionOf(index)
    return this.#buffers[buffer!]!.toString('utf8', start, end)
  }

  bytesOf(index: number): number {
    const [, start, end] = this.#positionOf(index)
    return end! - start!
  }

  #positionOf(index: number): Uint32Array {
    if (!(index >= 0 && index < this.#count)) throw new Error(`The store has no text ${index}.`)
    return this.#positions.subarray(3 * index, 3 * index + 3)
  }
}
