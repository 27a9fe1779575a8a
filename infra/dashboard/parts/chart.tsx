/** A chart over time. Its content is also there as text and as a table. */

import { useEffect, useId, useRef, useState } from 'preact/hooks';
import uPlot from 'uplot';
import { countSteps, isolatedIn, moment } from '../data/format.ts';
import { useStore } from '../data/store.ts';
import { theme } from '../data/theme.ts';

export interface Series {
  readonly label: string;
  /** A custom property of the style: `--good`. */
  readonly color: string;
  readonly values: readonly (number | null)[];
  readonly filled?: boolean;
}

interface ChartProps {
  readonly title: string;
  /** Epoch ms. */
  readonly times: readonly number[];
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
  /** The possible distances of grid lines. @default whole numbers */
  readonly steps?: readonly number[];
  /** The time span to show before the last value, even if there are only few; without it, all. */
  readonly windowMs?: number;
}

const height = 168;

const cssColor = (name: string): string =>
  getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function optionsOf(
  width: number,
  {
    series,
    format,
    windowMs,
    steps = countSteps,
  }: Pick<ChartProps, 'series' | 'format' | 'windowMs' | 'steps'>,
): uPlot.Options {
  const grid = { stroke: cssColor('--line'), width: 1 };
  const axis = { stroke: cssColor('--soft'), grid, ticks: grid, font: '11px system-ui, sans-serif' };
  return {
    width,
    height,
    legend: { show: false },
    cursor: { points: { size: 6 }, drag: { setScale: false }, y: false },
    padding: [8, 8, 0, 0],
    scales: {
      ...(windowMs !== undefined && { x: { range: (_, __, max) => [max - windowMs / 1_000, max] } }),
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.1 : 1] },
    },
    axes: [
      { ...axis, space: 64, size: 28, values: timeFormats },
      {
        ...axis,
        size: 64,
        space: 32,
        incrs: [...steps],
        values: (_, splits) => splits.map((n) => format(n)),
      },
    ],
    series: [
      {},
      ...series.map(({ label, color, filled }) => ({
        label,
        stroke: cssColor(color),
        width: 1.5,
        points: {
          show: true,
          size: 5,
          filter: (plot: uPlot, series: number) => isolatedIn(plot.data[series] as Series['values']),
        },
        spanGaps: false,
        ...(filled && { fill: `${cssColor(color)}22` }),
      })),
    ],
  };
}

/** In uPlot's format: the smallest step in seconds, the labels, and their additions where a year or a day begins. */
const timeFormats: uPlot.Axis.Values = [
  [86_400, '{MM}-{DD}', null, null, null, null, null, null, 1],
  [3_600, '{HH}:{mm}', null, null, '\n{MM}-{DD}', null, null, null, 1],
  [60, '{HH}:{mm}', null, null, null, null, null, null, 1],
  [1, '{HH}:{mm}:{ss}', null, null, null, null, null, null, 1],
];

export function Chart({ title, times, series, format, windowMs, steps }: ChartProps) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const [hovered, setHovered] = useState<number | null>(null);
  const [open, setOpen] = useState(false);
  const dark = useStore(theme);
  const id = useId();
  const data = [times.map((at) => at / 1_000), ...series.map(({ values }) => values)] as uPlot.AlignedData;
  const shape = series.map(({ label, color }) => label + color).join();

  useEffect(() => {
    const { current } = box;
    if (current === null) return;
    const options = optionsOf(current.clientWidth, {
      series,
      format,
      ...(windowMs !== undefined && { windowMs }),
      ...(steps !== undefined && { steps }),
    });
    const made = new uPlot(
      { ...options, hooks: { setCursor: [({ cursor }) => setHovered(cursor.idx ?? null)] } },
      data,
      current,
    );
    plot.current = made;
    const sizes = new ResizeObserver(() => made.setSize({ width: current.clientWidth, height }));
    sizes.observe(current);
    return () => {
      sizes.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [shape, dark]);
  useEffect(() => plot.current?.setData(data), [times, series]);

  const at = hovered !== null && hovered < times.length ? hovered : times.length - 1;
  return (
    <figure class="chart" aria-labelledby={id}>
      <figcaption>
        <h2 id={id}>{title}</h2>
        <ul class="legend">
          {series.map(({ label, color, values }) => (
            <li key={label}>
              <span class="swatch" style={{ background: `var(${color})` }} aria-hidden="true" />
              {label} <b>{shownValue(values[at], format)}</b>
            </li>
          ))}
          {hovered !== null && times[at] !== undefined && <li class="soft">{moment(times[at])}</li>}
        </ul>
      </figcaption>
      <div class="plot" ref={box} aria-hidden="true" style={{ height: `${height}px` }} />
      <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
        <summary>{inWords(series, format)}</summary>
        {open && <AsTable title={title} times={times} series={series} format={format} />}
      </details>
    </figure>
  );
}

const shownValue = (value: number | null | undefined, format: (n: number) => string): string =>
  value === null || value === undefined ? 'none' : format(value);

function inWords(series: readonly Series[], format: (n: number) => string): string {
  const parts = series.map(({ label, values }) => {
    const known = values.filter((value) => value !== null);
    return known.length === 0 ? `${label}: no values` : `${label}: at most ${format(Math.max(...known))}`;
  });
  return `${parts.join('; ')}. As a table`;
}

function AsTable({
  title,
  times,
  series,
  format,
}: Required<Pick<ChartProps, 'title' | 'times' | 'series' | 'format'>>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrollable area must be reachable by keyboard
    <section class="long" aria-label={`${title}, as a table`} tabIndex={0}>
      <table class="plain-table">
        <thead>
          <tr>
            <th scope="col">From</th>
            {series.map(({ label }) => (
              <th key={label} scope="col" class="numeric">
                {label}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {times.map((at, i) => (
            <tr key={at}>
              <th scope="row">{moment(at)}</th>
              {series.map(({ label, values }) => (
                <td key={label} class="numeric">
                  {shownValue(values[i], format)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
