// The list of members by steps, a row each (member-row.tsx). Only the rows in sight exist, so 100,000 members scroll like 100. One tab stop: arrows move
// the cell, Enter opens the person, Space selects.
// biome-ignore-all lint/a11y/useSemanticElements: rows are placed by position, which a table cannot do
// biome-ignore-all lint/a11y/useFocusableInteractive: the grid is the one tab stop
// biome-ignore-all lint/a11y/useKeyWithClickEvents: the grid has the keyboard

import { useVirtualizer } from '@tanstack/react-virtual'
import { type KeyboardEvent, useCallback, useEffect, useRef, useState } from 'react'
import { useLocation, useSearchParams } from 'wouter'
import { stateWord } from '../../../../../src/domain/state/person-state.ts'
import { ErrorNote, Loading } from '../../../ui/feedback.tsx'
import { cellOf } from './cells.ts'
import { GridHead } from './grid-head.tsx'
import { type GridColumn, type GridRow, type GridRows, useGridRows } from './grid-rows.ts'
import { type MemberFilter, SELECTED_MAX, type Selection } from './member-filter.ts'
import { cellId, MemberRow } from './member-row.tsx'

const ROW_PX = 28
const PAGE_ROWS = 15
const OVERSCAN = 6

interface MemberGridProps {
  readonly batchId: number
  readonly memberCount: number
  readonly filter: MemberFilter
  /** Null: this person may not act. */
  readonly selection: Selection | null
  /** Says how many rows there are. */
  readonly onCount: (total: number, isExact: boolean) => void
}

interface Place {
  readonly row: number
  readonly column: number
}

export function MemberGrid(props: MemberGridProps) {
  const { batchId, memberCount, filter, selection, onCount } = props
  const scroller = useRef<HTMLDivElement>(null)
  const [visible, setVisible] = useState<readonly [number, number]>([0, PAGE_ROWS * 2])
  const rows = useGridRows(batchId, memberCount, filter, visible)
  const { total, isTotalExact } = rows
  const firstRow = Number(useSearchParams()[0].get('row') ?? 0)
  const virtual = useVirtualizer({
    count: rows.count,
    getScrollElement: () => scroller.current,
    estimateSize: () => ROW_PX,
    overscan: OVERSCAN,
    initialOffset: firstRow * ROW_PX,
  })
  const items = virtual.getVirtualItems()
  const first = items[0]?.index ?? 0
  const last = items.at(-1)?.index ?? 0
  useEffect(() => setVisible([first, last]), [first, last])
  useEffect(() => onCount(total, isTotalExact), [total, isTotalExact, onCount])
  const { place, onCell, onKeyDown } = usePlace(props, rows, firstRow, virtual.scrollToIndex)
  if (rows.error) return <ErrorNote error={rows.error} onRetry={rows.retry} />
  if (rows.isLoading) return <Loading what="members" lines={8} />
  const { columns } = rows
  const active = rows.rowAt(place.row)
  const isInSight = place.row >= first && place.row <= last && active !== undefined
  return (
    <>
      <div
        ref={scroller}
        className="grid-scroll"
        role="grid"
        aria-label="Members by steps"
        aria-describedby="grid-keys"
        aria-rowcount={rows.count + 1}
        aria-colcount={columns.length + 1}
        aria-multiselectable={selection !== null}
        aria-activedescendant={isInSight ? cellId(place.row, place.column) : undefined}
        tabIndex={0}
        onKeyDown={onKeyDown}
        style={{ '--steps': columns.length } as never}
      >
        <GridHead columns={columns} first="Member" />
        <div role="rowgroup" className="grid-body" style={{ height: virtual.getTotalSize() }}>
          {items.map(({ index, start }) => (
            <MemberRow
              key={index}
              batchId={batchId}
              index={index}
              top={start}
              row={rows.rowAt(index)}
              columns={columns}
              activeColumn={place.row === index ? place.column : null}
              isSelected={selection !== null && isChosen(selection, rows.rowAt(index))}
              toggle={selection?.toggle ?? null}
              onCell={onCell}
            />
          ))}
        </div>
      </div>
      <PlaceNote row={active} column={columns[place.column]} at={place.column} />
      <p className="quiet" id="grid-keys">
        Arrows move, Enter opens the person
        {selection && `, Space selects (at most ${SELECTED_MAX}; more by a filter)`}.
      </p>
    </>
  )
}

/** The cell with the keyboard, and what keys do. */
function usePlace(
  { batchId, selection }: MemberGridProps,
  { count, columns, rowAt }: GridRows,
  firstRow: number,
  scrollTo: (row: number) => void,
) {
  const [, go] = useLocation()
  const [place, setPlace] = useState<Place>({ row: firstRow, column: 0 })
  const onCell = useCallback((row: number, column: number) => setPlace({ row, column }), [])
  const onKeyDown = (event: KeyboardEvent) => {
    const to = target(event, place, count, columns.length)
    const active = rowAt(place.row)
    if (to) {
      const row = Math.min(Math.max(0, to.row), Math.max(0, count - 1))
      const column = Math.min(Math.max(0, to.column), Math.max(0, columns.length - 1))
      setPlace({ row, column })
      scrollTo(row)
    } else if (event.key === 'Enter' && active) go(`/batches/${batchId}/members/${active.memberId}`)
    else if (event.key === ' ' && active) selection?.toggle(active.memberId)
    else return
    event.preventDefault()
  }
  return { place, onCell, onKeyDown }
}

const isChosen = ({ isAll, ids }: Selection, row: GridRow | undefined): boolean =>
  row !== undefined && (isAll || ids.has(row.memberId))

function target(
  { key, ctrlKey }: KeyboardEvent,
  { row, column }: Place,
  rowCount: number,
  columnCount: number,
): Place | null {
  switch (key) {
    case 'ArrowDown':
      return { row: row + 1, column }
    case 'ArrowUp':
      return { row: row - 1, column }
    case 'ArrowRight':
      return { row, column: column + 1 }
    case 'ArrowLeft':
      return { row, column: column - 1 }
    case 'PageDown':
      return { row: row + PAGE_ROWS, column }
    case 'PageUp':
      return { row: row - PAGE_ROWS, column }
    case 'Home':
      return { row: ctrlKey ? 0 : row, column: 0 }
    case 'End':
      return { row: ctrlKey ? rowCount - 1 : row, column: columnCount - 1 }
    default:
      return null
  }
}

interface PlaceNoteProps {
  readonly row: GridRow | undefined
  readonly column: GridColumn | undefined
  readonly at: number
}
/** The cell in words, for those who see the signs small or not at all. */
const PlaceNote = ({ row, column, at }: PlaceNoteProps) => (
  <p className="place" aria-live="polite">
    {row && column ? (
      <>
        <strong>{row.memberKey}</strong> {stateWord(row.state)}
        {row.isHeld && ', on hold'} · {column.phaseName} / {column.stepName}:{' '}
        {cellOf(row.cells[at]).name}
      </>
    ) : (
      ' '
    )}
  </p>
)
