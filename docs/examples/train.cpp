/* Trains a small network with CLBlast: a multilayer perceptron with ReLU learns what another one
   computes. Prints the loss, and the seconds of its matrix products by the device's clock.

   c++ -O2 -o train train.cpp -lclblast -lOpenCL
   ./train [BATCH] [WIDTH] [STEPS] */

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <clblast.h>

#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

using clblast::Transpose;

static const char *const source = R"(
kernel void relu(global float *x) { int i = get_global_id(0); x[i] = fmax(x[i], 0.0f); }
kernel void relu_back(global float *dx, global const float *x) {
    int i = get_global_id(0);
    if (!(x[i] > 0.0f)) dx[i] = 0.0f;
}
kernel void error(global float *dx, global const float *x, global const float *wanted) {
    int i = get_global_id(0);
    dx[i] = x[i] - wanted[i];
})";

static void check(int status, const char *what) {
    if (status) {
        std::fprintf(stderr, "%s: error %d\n", what, status);
        std::exit(1);
    }
}

/* All matrices are column-major and packed; a column is a sample. */
struct Matrix {
    size_t rows, columns;
    cl_mem buffer;
};

struct Device {
    cl_context context;
    cl_command_queue queue;
    cl_program program;
    std::mt19937 random{1};
    bool timed = false;
    std::vector<std::pair<cl_event, cl_event>> events;

    Device() {
        cl_uint count = 0;
        check(clGetPlatformIDs(0, nullptr, &count), "platforms");
        std::vector<cl_platform_id> platforms(count);
        check(clGetPlatformIDs(count, platforms.data(), nullptr), "platforms");
        cl_device_id device = nullptr;
        const cl_device_type types[] = {CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_ALL};
        for (const cl_device_type type : types)
            for (const auto platform : platforms)
                if (!device) clGetDeviceIDs(platform, type, 1, &device, nullptr);
        int status;
        context = clCreateContext(nullptr, 1, &device, nullptr, nullptr, &status);
        check(status, "context");
        queue = clCreateCommandQueue(context, device, CL_QUEUE_PROFILING_ENABLE, &status);
        check(status, "queue");
        const char *text = source;
        program = clCreateProgramWithSource(context, 1, &text, nullptr, &status);
        check(status, "program");
        check(clBuildProgram(program, 1, &device, "", nullptr, nullptr), "build");
    }

    Matrix matrix(size_t rows, size_t columns, float deviation) {
        std::normal_distribution<float> normal(0, deviation);
        std::vector<float> numbers(rows * columns);
        for (auto &x : numbers) x = deviation > 0 ? normal(random) : 0;
        int status;
        const cl_mem buffer = clCreateBuffer(
            context, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, numbers.size() * sizeof(float),
            numbers.data(), &status);
        check(status, "buffer");
        return {rows, columns, buffer};
    }

    /* C = alpha * op(A) * op(B) + beta * C */
    void multiply(Transpose trans_a, Transpose trans_b, float alpha, const Matrix &a,
                  const Matrix &b, float beta, const Matrix &c) {
        const size_t k = trans_a == Transpose::kNo ? a.columns : a.rows;
        cl_event before = nullptr, after = nullptr;
        if (timed) check(clEnqueueMarkerWithWaitList(queue, 0, nullptr, &before), "marker");
        check(static_cast<int>(clblast::Gemm(
                  clblast::Layout::kColMajor, trans_a, trans_b, c.rows, c.columns, k, alpha,
                  a.buffer, 0, a.rows, b.buffer, 0, b.rows, beta, c.buffer, 0, c.rows, &queue,
                  timed ? &after : nullptr)),
              "Gemm");
        if (timed) events.emplace_back(before, after);
    }

    void run(const char *name, std::vector<Matrix> matrices) {
        int status;
        const cl_kernel kernel = clCreateKernel(program, name, &status);
        check(status, name);
        for (size_t i = 0; i < matrices.size(); ++i)
            clSetKernelArg(kernel, static_cast<cl_uint>(i), sizeof(cl_mem), &matrices[i].buffer);
        const size_t size = matrices[0].rows * matrices[0].columns;
        check(clEnqueueNDRangeKernel(queue, kernel, 1, nullptr, &size, nullptr, 0, nullptr, nullptr),
              name);
        clReleaseKernel(kernel);
    }

    double norm(const Matrix &x) {
        std::vector<float> numbers(x.rows * x.columns);
        check(clEnqueueReadBuffer(queue, x.buffer, CL_TRUE, 0, numbers.size() * sizeof(float),
                                  numbers.data(), 0, nullptr, nullptr),
              "read");
        double sum = 0;
        for (const float each : numbers) sum += static_cast<double>(each) * each;
        return sum / static_cast<double>(x.columns);
    }

    /* From the end of what was enqueued before each product to the end of the product. */
    double product_seconds() {
        double sum = 0;
        for (const auto &[before, after] : events) {
            cl_ulong from = 0, to = 0;
            clGetEventProfilingInfo(before, CL_PROFILING_COMMAND_END, sizeof from, &from, nullptr);
            clGetEventProfilingInfo(after, CL_PROFILING_COMMAND_END, sizeof to, &to, nullptr);
            sum += static_cast<double>(to - from) * 1e-9;
            clReleaseEvent(before);
            clReleaseEvent(after);
        }
        events.clear();
        return sum;
    }
};

int main(int count, char **words) {
    const auto option = [&](int place, int value) {
        return static_cast<size_t>(count > place ? std::atoi(words[place]) : value);
    };
    const size_t batch = option(1, 1024), width = option(2, 2048), steps = option(3, 20);
    const std::vector<size_t> widths = {width / 2, width, width, width, 16};
    const size_t layers = widths.size() - 1, warm_up = 5;
    const float rate = 0.2f / static_cast<float>(batch * width);

    Device device;
    std::vector<Matrix> teacher, weights, x, dx;
    for (size_t i = 0; i < layers; ++i) {
        const float deviation = std::sqrt(2.0f / static_cast<float>(widths[i]));
        teacher.push_back(device.matrix(widths[i + 1], widths[i], deviation));
        weights.push_back(device.matrix(widths[i + 1], widths[i], deviation));
    }
    for (const size_t each : widths) {
        x.push_back(device.matrix(each, batch, x.empty() ? 1.0f : 0.0f));
        dx.push_back(device.matrix(each, batch, 0));
    }
    const auto forward = [&](const std::vector<Matrix> &by) {
        for (size_t i = 0; i < layers; ++i) {
            device.multiply(Transpose::kNo, Transpose::kNo, 1, by[i], x[i], 0, x[i + 1]);
            if (i + 1 < layers) device.run("relu", {x[i + 1]});
        }
    };
    const Matrix wanted = device.matrix(widths[layers], batch, 0);
    forward(teacher);
    check(clEnqueueCopyBuffer(device.queue, x[layers].buffer, wanted.buffer, 0, 0,
                              batch * widths[layers] * sizeof(float), 0, nullptr, nullptr),
          "copy");
    double first = 0;
    auto began = std::chrono::steady_clock::now();
    for (size_t step = 0; step < warm_up + steps; ++step) {
        if (step == warm_up) {
            clFinish(device.queue);
            device.timed = true;
            began = std::chrono::steady_clock::now();
        }
        forward(weights);
        device.run("error", {dx[layers], x[layers], wanted});
        if (step == 0) first = device.norm(dx[layers]);
        for (size_t i = layers; i-- > 0;) {
            if (i > 0) {
                device.multiply(Transpose::kYes, Transpose::kNo, 1, weights[i], dx[i + 1], 0, dx[i]);
                device.run("relu_back", {dx[i], x[i]});
            }
            device.multiply(Transpose::kNo, Transpose::kYes, -rate, dx[i + 1], x[i], 1, weights[i]);
        }
    }
    clFinish(device.queue);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
    std::printf("loss %.4g, then %.4g\n", first, device.norm(dx[layers]));
    const size_t calls = device.events.size();
    std::printf("%zu products in %.6f s, %zu steps in %.3f s\n", calls, device.product_seconds(),
                steps, took.count());
}
