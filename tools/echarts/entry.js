// The parts of ECharts that the site's charts use, and nothing else: lines and points on a grid, with the
// canvas renderer. HTML tooltips and the SVG renderer are left out: they need inline styles, which the
// site's Content-Security-Policy forbids.
import { init, use } from 'echarts/core';
import { LineChart, ScatterChart } from 'echarts/charts';
import {
  AriaComponent, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, TooltipComponent,
} from 'echarts/components';
import { CanvasRenderer } from 'echarts/renderers';

use([
  AriaComponent, CanvasRenderer, GridComponent, LegendComponent, LineChart, MarkAreaComponent,
  MarkLineComponent, ScatterChart, TooltipComponent,
]);

export { init };
