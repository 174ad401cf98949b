// How long one selection takes: directly, and through the map that Tensile's library keeps.
//
// Reads sizes, "m n k batch" a line; prints nanoseconds per lookup: the plain call, more sizes than
// the library remembers; the same for sixteen of them; a call whose answer std::map holds already,
// and one whose answer std::unordered_map holds already. Each is the median of many passes over all
// sizes, each shorter than a time slice of a busy machine.

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <map>
#include <unordered_map>
#include <vector>

extern "C" {
#include SELECT_H
}

using Size = std::array<int64_t, 4>;

struct Hash {
    size_t operator()(const Size &size) const
    {
        size_t hash = 14695981039346656037ull;
        for (int64_t extent : size)
            hash = (hash ^ static_cast<size_t>(extent)) * 1099511628211ull;
        return hash;
    }
};

static volatile int sink;

template <class Lookup> static double nanoseconds(const std::vector<Size> &sizes, Lookup lookup)
{
    const int passes = 201, rounds = 1 + 5000 / static_cast<int>(sizes.size());
    std::vector<double> times;
    for (int pass = 0; pass < passes; ++pass) {
        int sum = 0;
        const auto begin = std::chrono::steady_clock::now();
        for (int round = 0; round < rounds; ++round)
            for (const Size &size : sizes)
                sum += lookup(size);
        const std::chrono::duration<double, std::nano> spent =
            std::chrono::steady_clock::now() - begin;
        sink = sum;
        times.push_back(spent.count() / rounds / static_cast<double>(sizes.size()));
    }
    std::nth_element(times.begin(), times.begin() + passes / 2, times.end());
    return times[passes / 2];
}

int main()
{
    std::vector<Size> sizes;
    Size read;
    while (std::scanf("%ld %ld %ld %ld", &read[0], &read[1], &read[2], &read[3]) == 4)
        sizes.push_back(read);
    const auto select = [](const Size &size) {
        const PROBLEM problem = {size[0], size[1], size[2], size[3]};
        return SELECT(&problem);
    };
    std::map<Size, int> ordered;
    std::unordered_map<Size, int, Hash> hashed;
    for (const Size &size : sizes)
        ordered[size] = hashed[size] = select(size);
    std::printf("%.2f ", nanoseconds(sizes, select));
    const std::vector<Size> few(sizes.begin(), sizes.begin() + 16);
    std::printf("%.2f ", nanoseconds(few, select));
    std::printf("%.2f ", nanoseconds(sizes, [&](const Size &size) { return ordered.find(size)->second; }));
    std::printf("%.2f\n", nanoseconds(sizes, [&](const Size &size) { return hashed.find(size)->second; }));
}
